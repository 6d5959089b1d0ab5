// Package arch holds tests about the repository itself: who may import whom, what every package must have, which calls
// are banned where, and which requirements are proven. It has no code of its own.
package arch
