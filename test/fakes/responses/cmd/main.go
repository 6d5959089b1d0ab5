// Command responses serves the fake model provider until it is interrupted, and prints its base URL.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"

	"sekisho/test/fakes/responses"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	s, err := responses.Listen(*addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "responses:", err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	s.Close()
}
