// What Enter does in the message box. Pure.

export interface Key {
  key: string;
  keyCode: number;
  isComposing: boolean;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** sends: never while an input method composes. Browsers tell that by isComposing, some only by the key code 229. */
export function sends(k: Key, setting: "enter" | "ctrl"): boolean {
  if (k.key !== "Enter" || k.isComposing || k.keyCode === 229 || k.shiftKey || k.altKey) return false;
  const held = k.ctrlKey || k.metaKey;
  return setting === "ctrl" ? held : true;
}
