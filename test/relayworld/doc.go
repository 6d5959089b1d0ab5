// Package relayworld is what tests build a relaycodex of: a worker with its endpoint around a real or a scripted app-server, a
// tape of the frames between the two, a log, and a front end that waits and requires.
package relayworld
