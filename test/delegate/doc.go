// Package delegate makes a control group for another user, as an administrator would by the command that a refusal names.
package delegate
