// Command server is what the conformance suite's tasks scenarios need: the tools that they call, behind the product's HTTP
// transport, frames, allow-list, Tasks extension and task records. It serves on a free port of 127.0.0.1 until it is
// terminated, and prints its URL.
package main
