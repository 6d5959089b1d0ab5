// The page's glyphs. Decoration beside a word, so hidden from the accessibility tree. Each is drawn where it is used: a sheet of all of
// them would be a quarter of the elements of the first screen.
const paths = {
  chev: () => <path d="M6 4l4 4-4 4" />,
  find: () => <><circle cx="7" cy="7" r="4.25" /><path d="M10.3 10.3 14 14" /></>,
  menu: () => <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h7" />,
  pane: () => <><rect x="2" y="3" width="12" height="10" rx="1" /><path d="M10 3v10" /></>,
  copy: () => <><rect x="5.5" y="5.5" width="8" height="8" rx="1" /><path d="M10.5 5.5v-3h-8v8h3" /></>,
  check: () => <path d="M3 8.5l3.2 3L13 4.5" />,
  cross: () => <path d="M4 4l8 8M12 4l-8 8" />,
  plus: () => <path d="M8 3v10M3 8h10" />,
  warn: () => <path d="M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.4v.4" />,
  dot: () => <circle cx="8" cy="8" r="3.5" class="fill" />,
  ring: () => <circle cx="8" cy="8" r="4" />,
  arc: () => <circle cx="8" cy="8" r="4.75" stroke-dasharray="20 10" />,
  half: () => <><circle cx="8" cy="8" r="4.75" /><path class="fill" d="M8 3.25a4.75 4.75 0 0 1 0 9.5z" /></>,
  stop: () => <rect x="4" y="4" width="8" height="8" class="fill" />,
  eye: () => <><path d="M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8z" /><circle cx="8" cy="8" r="1.8" /></>,
  term: () => <path d="M3 4.5 6.5 8 3 11.5M8.5 12H13" />,
  file: () => <path d="M4 2.5h5l3 3v8H4zM9 2.5v3h3" />,
  plug: () => <path d="M6 2v3M10 2v3M4 5.5h8V8a4 4 0 0 1-8 0zM8 12v2" />,
  list: () => <path d="M6 4h8M6 8h8M6 12h8M2 4h1.5M2 8h1.5M2 12h1.5" />,
  up: () => <path d="M8 13V3.5M4 7.5l4-4 4 4" />,
  out: () => <path d="M6 4H3v9h9v-3M9 3h4v4M13 3 7.5 8.5" />,
  help: () => <><circle cx="8" cy="8" r="5.75" /><path d="M6.3 6.4a1.8 1.8 0 1 1 2.5 1.7c-.6.3-.8.6-.8 1.2M8 11.2v.3" /></>,
  dials: () => <><path d="M2.5 5h5M11.5 5h2M2.5 11h1M7.5 11h6" /><circle cx="9.5" cy="5" r="1.75" /><circle cx="5.5" cy="11" r="1.75" /></>,
  think: () => <path d="M3 4h10M3 8h7M3 12h4" />,
  lock: () => <><rect x="3.5" y="7" width="9" height="6.5" rx="1" /><path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" /></>,
  image: () => <><rect x="2" y="3" width="12" height="10" rx="1" /><circle cx="5.5" cy="6.5" r="1" /><path d="M2.5 12l4-4 2.5 2.5L11 8.5l2.5 2.5" /></>,
};

export type IconName = keyof typeof paths;

export function Icon({ name, tone, spin }: { name: IconName; tone?: "good" | "attn" | "bad" | undefined; spin?: boolean }) {
  return <svg class={"i" + (tone ? " " + tone : "") + (spin ? " spin" : "")} viewBox="0 0 16 16" aria-hidden="true" focusable="false">{paths[name]()}</svg>;
}
