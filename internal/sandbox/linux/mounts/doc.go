// Package mounts describes the file system of a sandbox as a program for PID 1, and makes what only the server can make.
//
// Everything is mounted by descriptor: open_tree copies an object that was opened and compared with the one that was judged,
// mount_setattr narrows the copy while it is attached nowhere, move_mount attaches it. No path of the host is walked twice.
package mounts
