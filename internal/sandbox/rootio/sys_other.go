//go:build !linux

package rootio

import (
	"io/fs"
	"os"
	"time"

	"sekisho/internal/fault"
)

// No other system has a backend yet: nothing can be opened, so no Root, Set or Target ever exists there.

func unsupported() error { return fault.New(fault.PreflightUnsupportedOS) }

func openExact(string) (*Root, error)                          { return nil, unsupported() }
func follow(string) (*Object, error)                           { return nil, unsupported() }
func openChild(*os.File, string, bool) (*os.File, Info, error) { return nil, Info{}, unsupported() }
func statChild(*os.File, string) (Info, error)                 { return Info{}, unsupported() }
func reopen(*os.File, Kind) (*os.File, error)                  { return nil, unsupported() }
func duplicate(*os.File) (*os.File, error)                     { return nil, unsupported() }
func stat(*os.File) (Info, error)                              { return Info{}, unsupported() }
func statChanged(*os.File) (Info, time.Time, error)            { return Info{}, time.Time{}, unsupported() }
func readLink(*os.File) (string, error)                        { return "", unsupported() }
func chown(*os.File, owner) error                              { return unsupported() }
func mayWrite(*os.File) error                                  { return unsupported() }
func addSystemLinks(map[string]string, string)                 {}
func listAttributes(*os.File) ([]string, error)                { return nil, unsupported() }
func getAttribute(*os.File, string) ([]byte, error)            { return nil, unsupported() }
func setAttribute(*os.File, string, []byte) error              { return unsupported() }
func removeAttribute(*os.File, string) error                   { return unsupported() }
func foldsCase(*os.File) bool                                  { return true }
func describe(*os.File, string) (Info, bool, error)            { return Info{}, false, unsupported() }
func openBelow(*os.File, string) (*os.File, error)             { return nil, unsupported() }
func chmodHeld(*os.File, fs.FileMode) error                    { return unsupported() }
func readFull(*os.File, []byte) (int, error)                   { return 0, unsupported() }
