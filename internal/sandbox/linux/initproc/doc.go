// Package initproc is PID 1 of a sandbox: the product's executable, started again by the broker in new namespaces.
//
// It builds the root; then one thread, the spawner, gives up everything and serves one run at a time: fork, stop at the
// exec, hand the executable to the broker, release, wait, kill whatever is left. It trusts the broker and nothing else; no
// payload can reach its socket, its memory, or (being hidden and not dumpable) anything of it below /proc. Its own threads
// stay outside the spawner's Landlock domain and keep the capabilities of the sandbox's user namespace.
//
// When its socket closes it exits, and the kernel kills every process of the pid namespace: that is how a sandbox never
// outlives its server.
package initproc
