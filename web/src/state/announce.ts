// The two live regions. A screen reader that is told too much tells nothing: at most one message in 2 s over both regions;
// while one waits, a later message of the same region replaces it, and an alert goes first.

export type Region = "polite" | "alert";

export interface Clock {
  now(): number;
  after(ms: number, f: () => void): void;
}

export class Announcer {
  private waiting: Partial<Record<Region, string>> = {};
  private next = 0;
  private timed = false;

  constructor(private readonly out: (region: Region, text: string) => void, private readonly clock: Clock, private readonly every = 2000) {}

  say(region: Region, text: string): void {
    this.waiting[region] = text;
    this.pump();
  }

  private pump(): void {
    if (this.timed) return;
    const wait = this.next - this.clock.now();
    if (wait > 0) {
      this.timed = true;
      this.clock.after(wait, () => {
        this.timed = false;
        this.pump();
      });
      return;
    }
    const region: Region = this.waiting.alert !== undefined ? "alert" : "polite";
    const text = this.waiting[region];
    if (text === undefined) return;
    delete this.waiting[region];
    this.next = this.clock.now() + this.every;
    this.out(region, text);
    this.pump();
  }
}
