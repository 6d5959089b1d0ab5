// Package crash proves that a server killed at any moment leaves nothing behind once the next one has started (A-TX-04,
// ST-17): no process, control group, mount, temporary file or journal, unchanged modes, and every user file with its old
// or its complete new bytes.
//
// A scripted model makes a task change files in every way and run a program; test/crash/server kills itself at its k-th
// durable effect, for every k; the product binary then starts on the same state.
package crash
