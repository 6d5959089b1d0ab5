// Command bench measures what the product costs, as ratios against the same work without it: `make bench`.
//
// Every figure is the middle of interleaved pairs (A B A B ...), so that a machine that slows down slows both sides down.
// A comparison that cannot be made here prints not-run with its reason, and no number. A missed goal is a result and no
// failure; the exit code is 1 only when something failed that should have been measured.
package main
