package product

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Start starts cmd with the usual meaning of SIGINT and SIGHUP. A test that itself runs in the background, or under nohup,
// ignores them, and what a process ignores its children ignore too; what it handles they do not.
func Start(cmd *exec.Cmd) error {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(handled)
	return cmd.Start()
}
