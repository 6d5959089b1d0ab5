package fileop

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// On Windows only the state root's own directories come here; user files wait for the Windows backend's handles.

func (osFS) Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir.Name(), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

func (osFS) OpenAppend(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir.Name(), name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, perm)
}

func (osFS) Rename(oldDir *os.File, oldName string, newDir *os.File, newName string, replace bool) error {
	if err := CheckName(oldName); err != nil {
		return err
	}
	if err := CheckName(newName); err != nil {
		return err
	}
	from, err := windows.UTF16PtrFromString(filepath.Join(oldDir.Name(), oldName))
	if err != nil {
		return err
	}
	to, err := windows.UTF16PtrFromString(filepath.Join(newDir.Name(), newName))
	if err != nil {
		return err
	}
	var flags uint32
	if replace {
		flags = windows.MOVEFILE_REPLACE_EXISTING
	}
	return pathErr("rename", oldDir, oldName, windows.MoveFileEx(from, to, flags|windows.MOVEFILE_WRITE_THROUGH))
}

func (osFS) Unlink(dir *os.File, name string) error { return remove(dir, name, false) }
func (osFS) Rmdir(dir *os.File, name string) error  { return remove(dir, name, true) }

func remove(dir *os.File, name string, isDir bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	path, err := windows.UTF16PtrFromString(filepath.Join(dir.Name(), name))
	if err != nil {
		return err
	}
	if isDir {
		return pathErr("rmdir", dir, name, windows.RemoveDirectory(path))
	}
	return pathErr("unlink", dir, name, windows.DeleteFile(path))
}

func (osFS) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(dir.Name(), name), perm)
}
