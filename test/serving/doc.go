// Package serving runs the product for foreign clients: an applied configuration in a directory of its own, a scripted model
// behind it, and the server over HTTP where a client does not start it itself.
package serving
