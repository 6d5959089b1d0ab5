// Package cgroup holds a task's process tree to its memory and process limits with control groups, version 2 or 1.
//
// A task has one directory per hierarchy in use, named after instance and task, so that servers side by side never touch
// each other's. Making and removing them is journalled (Steps); everything else about a group lives as long as this
// process. Writes go through fileop.FS.
//
// Both versions are known from real kernels: version 1 where the tests usually run, version 2 with its controllers in the
// machines that "make machines" starts.
package cgroup
