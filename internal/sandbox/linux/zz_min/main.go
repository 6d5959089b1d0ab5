package main

import "sekisho/internal/sandbox/host"

func main() { host.Child() }
