// Package linux is the Linux backend of the sandbox (A-SBX).
//
// One task has one sandbox: a process tree in its own user, mount, pid, net, ipc, uts and cgroup namespaces, whose PID 1
// is this product's executable again (package initproc). PID 1 builds the visible file system (mounts), then keeps one
// thread, the spawner, that holds no capability and lives inside a Landlock domain and a seccomp filter (filter); every
// payload is forked from that thread and inherits all of it. A memory and task cgroup (cgroup) bounds the tree.
//
// Threats. The payload is hostile code. It must not reach a file outside the roots, a socket, another process, PID 1's
// other threads, or outlive its run. The broker trusts PID 1 until it dies; PID 1 trusts nothing that a payload can write.
// The end of this process, by whatever cause, closes PID 1's socket; PID 1 exits and the kernel kills the rest.
//
// Lock order: job.mu, then nothing. A box is used by one run at a time.
package linux
