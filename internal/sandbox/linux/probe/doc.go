// Package probe says why a sandbox cannot be built on this machine and what to do about it (A-ERR-01, preflight).
//
// Facts are read once and passed as a value, so that each refusal can be tested without a machine that has it. Nothing here
// weakens anything: the only outcomes are "go on" and a coded refusal.
package probe
