// Package goroutines requires of tests that no goroutine is left. What ends by itself has time to do so on a slow machine, too: goleak's
// own patience is less than half a second.
package goroutines

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience bounds the wait for the last goroutine. Nothing but a leak waits that long.
const patience = 10 * time.Second

// Left names what is left of goroutines, once all that end have ended.
func Left(o ...goleak.Option) error { return within(patience, o...) }

func within(long time.Duration, o ...goleak.Option) error {
	for limit := time.Now().Add(long); ; {
		if err := goleak.Find(o...); err == nil || time.Now().After(limit) {
			return err
		}
	}
}

// None fails the test when goroutines are left.
func None(t goleak.TestingT, o ...goleak.Option) {
	if err := Left(o...); err != nil {
		t.Error(err)
	}
}

// Main is a TestMain whose tests leave no goroutines.
func Main(m goleak.TestingM) {
	code := m.Run()
	if code == 0 {
		if err := Left(); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}
