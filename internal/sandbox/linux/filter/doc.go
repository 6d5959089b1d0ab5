// Package filter restricts PID 1 of a sandbox: a seccomp allow-list, Landlock rules, both as parts of its program (package
// opcode), and the server that counts forks.
//
// Threat: everything forked from PID 1 is hostile and shares kernel uid, PID namespace and Landlock domain with it. The filter
// sees system call numbers and argument values, never memory, so whatever a program passes by pointer is either harmless or
// refused as a whole. Arguments that the kernel truncates to 32 bits are compared by their low 32 bits: comparing all 64 would
// let 0x1_0000_0001 pass for "not 1".
//
// What no filter can see, and PID 1 must therefore do itself: it keeps no signal handler, for the kernel drops a signal with
// its default action for PID 1 of a namespace. Entry processes start in a session of their own, because kill(0) reaches the
// caller's process group; and PID 1 is not dumpable.
//
// Order: Ruleset, capabilities dropped, no_new_privs, Enter, Install.
package filter
