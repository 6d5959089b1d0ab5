//go:build linux

package main

// ownAttacks were found by attacking this product.
var ownAttacks = []attack{}
