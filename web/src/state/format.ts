// Numbers and times in the page's language and the reader's time zone. Times have seconds: they are evidence.
import { language, texts } from "../text";

const cache = new Map<string, Intl.DateTimeFormat>();

function dates(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = language.value + JSON.stringify(options);
  let f = cache.get(key);
  if (!f) cache.set(key, (f = new Intl.DateTimeFormat(language.value, options)));
  return f;
}

const two = (n: number) => String(n).padStart(2, "0");

/** The time of a moment; with its date when that is not today. Written here: making a formatter costs more than a screen full of text. */
export function time(ms: number, now = Date.now()): string {
  const d = new Date(ms), clock = [d.getHours(), d.getMinutes(), d.getSeconds()].map(two).join(":");
  if (d.toDateString() === new Date(now).toDateString()) return clock;
  return texts.value.dateTime(d.getFullYear(), d.getMonth(), d.getDate(), clock);
}

export function full(ms: number): string {
  return dates({ year: "numeric", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" }).format(ms);
}

/** How long ago, up to a day; then the date. */
export function ago(ms: number, now = Date.now()): string {
  const m = texts.value, minutes = Math.round((now - ms) / 60_000);
  if (minutes < 1) return m.agoNow;
  if (minutes < 60) return m.agoMinutes(minutes);
  if (minutes < 60 * 24) return m.agoHours(Math.round(minutes / 60));
  const d = new Date(ms);
  return m.date(d.getFullYear() === new Date(now).getFullYear() ? undefined : d.getFullYear(), d.getMonth(), d.getDate());
}

/** A count, in groups of three digits: the same in both languages. */
export function num(n: number): string {
  return Number.isSafeInteger(n) ? String(n).replace(/\B(?=(\d{3})+$)/g, ",") : new Intl.NumberFormat(language.value).format(n);
}

export function bytes(n: number): string {
  const unit = n < 1024 ? "byte" : n < 1024 * 1024 ? "kilobyte" : "megabyte";
  const value = unit === "byte" ? n : unit === "kilobyte" ? n / 1024 : n / 1024 / 1024;
  return new Intl.NumberFormat(language.value, { style: "unit", unit, maximumFractionDigits: value < 10 && unit !== "byte" ? 1 : 0 }).format(value);
}

export function list(items: readonly string[]): string {
  return new Intl.ListFormat(language.value, { type: "conjunction", style: "narrow" }).format(items);
}
