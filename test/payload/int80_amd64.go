package main

// int80 makes a system call without arguments by the entry of 32-bit programs.
func int80(nr uintptr) uintptr
