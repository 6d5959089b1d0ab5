package audit

import "io/fs"

// private has nothing to ask here: files in the user's own profile inherit its user-only list, and their mode bits say nothing.
func private(fs.FileInfo) error { return nil }
