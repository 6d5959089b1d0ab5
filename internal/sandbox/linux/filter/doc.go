// Package filter restricts one OS thread: a seccomp allow-list, Landlock rules, and the server that counts forks.
//
// Threat: everything forked from the restricted thread is hostile and shares kernel uid, PID namespace and Landlock
// domain with that thread. The filter sees system call numbers and argument values, never memory, so whatever a program
// passes by pointer is either harmless or refused as a whole. Arguments that the kernel truncates to 32 bits are
// compared by their low 32 bits: comparing all 64 would let 0x1_0000_0001 pass for "not 1".
//
// What no filter can see, and PID 1 must therefore do itself: kill(2) reaches PID 1 through the id of any of its threads,
// so PID 1 keeps no signal handler, not even the runtime's for SIGSEGV and the like: the kernel drops a signal with its
// default action for PID 1 of a namespace. Entry processes start in a session of their own, because kill(0) reaches the
// caller's process group; and PID 1 is not dumpable.
//
// Order on the restricted thread: runtime.LockOSThread, capabilities dropped, Landlock, Install. Threads that the Go
// runtime starts afterwards do not descend from a locked thread and stay unrestricted.
package filter
