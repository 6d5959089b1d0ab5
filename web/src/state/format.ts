// Numbers and times through Intl, in the page's language and the reader's time zone. Times have seconds: they are evidence.
import { language } from "../text";

const cache = new Map<string, Intl.DateTimeFormat>();

function dates(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = language.value + JSON.stringify(options);
  let f = cache.get(key);
  if (!f) cache.set(key, (f = new Intl.DateTimeFormat(language.value, options)));
  return f;
}

const clock: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

/** The time of a moment; with its date when that is not today. */
export function time(ms: number, now = Date.now()): string {
  const sameDay = new Date(ms).toDateString() === new Date(now).toDateString();
  return dates(sameDay ? clock : { year: "numeric", month: "short", day: "numeric", ...clock }).format(ms);
}

export function full(ms: number): string {
  return dates({ year: "numeric", month: "long", day: "numeric", ...clock, timeZoneName: "short" }).format(ms);
}

/** How long ago, up to a day; then the date. */
export function ago(ms: number, now = Date.now()): string {
  const rel = new Intl.RelativeTimeFormat(language.value, { numeric: "auto", style: "short" });
  const minutes = Math.round((ms - now) / 60_000);
  if (minutes > -1) return rel.format(0, "second");
  if (minutes > -60) return rel.format(minutes, "minute");
  if (minutes > -60 * 24) return rel.format(Math.round(minutes / 60), "hour");
  const sameYear = new Date(ms).getFullYear() === new Date(now).getFullYear();
  return dates(sameYear ? { month: "short", day: "numeric" } : { year: "numeric", month: "short", day: "numeric" }).format(ms);
}

export function num(n: number): string {
  return new Intl.NumberFormat(language.value).format(n);
}

export function bytes(n: number): string {
  const unit = n < 1024 ? "byte" : n < 1024 * 1024 ? "kilobyte" : "megabyte";
  const value = unit === "byte" ? n : unit === "kilobyte" ? n / 1024 : n / 1024 / 1024;
  return new Intl.NumberFormat(language.value, { style: "unit", unit, maximumFractionDigits: value < 10 && unit !== "byte" ? 1 : 0 }).format(value);
}

export function list(items: readonly string[]): string {
  return new Intl.ListFormat(language.value, { type: "conjunction", style: "narrow" }).format(items);
}
