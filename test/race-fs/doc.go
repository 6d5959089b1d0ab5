// Command race-fs lets two processes swap directories and files of a workspace with symbolic links to secrets, as fast as the
// kernel can, while every file tool and process start uses those names (attack case 5). It prints what each did and
// ends with "N passed, 0 failed".
//
// A control judges the machine: the careless way, which resolves a path, compares it with the root and then uses it, must
// leak in the same race.
package main
