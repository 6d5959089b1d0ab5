// func int80(nr uintptr) uintptr
TEXT ·int80(SB),4,$0-16
	MOVQ nr+0(FP), AX
	BYTE $0xcd
	BYTE $0x80
	MOVQ AX, ret+8(FP)
	RET
