// Package launcher is the small process that makes the PID 1s of sandboxes, and the server's connection to it.
//
// Making a process copies the page tables of whoever makes it, and a server's heap has many. So the server starts its own
// executable once more, under a name of its own, before its heap grows; that process does nothing but receive programs and
// descriptors and clone. It holds no secret, decides nothing, and ends with the connection. What it has made is not its
// concern any more: each PID 1 is connected with the server itself, and no child of the launcher has to be waited for.
package launcher
