// Package linux is the Linux backend of the sandbox (A-SBX).
//
// One task has one sandbox: a process tree in its own user, mount, pid, net, ipc, uts and cgroup namespaces. Its PID 1 (package
// initproc) is no program but a copy of a thread of the launcher (package launcher), a small process of this product's executable;
// it has no Go runtime and performs a program of system calls that this package writes (package opcode). That builds the visible
// file system (mounts), then gives up every capability and enters a Landlock domain and a seccomp filter (filter); every
// payload is forked from it and inherits all of it. A memory and task cgroup (cgroup) bounds the tree.
//
// Threats. The payload is hostile code. It must not reach a file outside the roots, a socket, another process, PID 1, or outlive
// its run. The broker trusts PID 1 until it dies; PID 1 trusts nothing that a payload can write.
// The end of this process, by whatever cause, closes PID 1's socket; PID 1 exits and the kernel kills the rest.
//
// Lock order: job.mu, then nothing. A box is used by one run at a time.
package linux
