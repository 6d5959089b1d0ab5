package goroutines

import (
	"strings"
	"testing"
	"time"
)

// What ends late is waited for, longer than goleak does; what does not end is named.
func TestWhatIsLeftIsNamed(t *testing.T) {
	late, stay := make(chan struct{}), make(chan struct{})
	time.AfterFunc(time.Second, func() { close(late) })
	go hang(late)
	if err := Left(); err != nil {
		t.Error(err)
	}
	go hang(stay)
	if err := within(0); err == nil || !strings.Contains(err.Error(), "goroutines.hang") {
		t.Errorf("got %v", err)
	}
	close(stay)
	None(t)
}

func hang(until chan struct{}) { <-until }
