// Package proctree watches processes of this operating system by a handle that a reused process id cannot take over.
package proctree
