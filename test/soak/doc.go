// Package soak runs many tasks one after another through the real broker and backend and compares what the machine looks
// like before and after.
package soak
