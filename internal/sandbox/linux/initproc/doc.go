// Package initproc is PID 1 of a sandbox: a process without a Go runtime.
//
// The launcher makes it by clone(2) in new namespaces (Fork). It first performs a program of system calls (Compile, package
// opcode) that builds the root and gives up everything, then serves one run at a time: a child that was forked ahead waits for
// the broker's Start, becomes the entry process and stops at its exec; PID 1 hands the executable to the broker or compares
// it with what the broker expects, releases, waits, and kills whatever is left. It has one thread, which is inside its own
// Landlock domain and filter like every payload, and holds no capability. It trusts the broker and nothing else; no payload
// can reach its socket, its memory, or (being hidden and not dumpable) anything of it below /proc.
//
// When its socket closes it exits, and the kernel kills every process of the pid namespace: that is how a sandbox never
// outlives its server.
//
// Functions whose name begins with "raw" follow the rules of package opcode.
package initproc
