package rank

// Classes of bytes. upper is the bit that makes a capital of ASCII a small letter.
const (
	lower = 1
	digit = 2
	under = 4
	high  = 8  // not ASCII
	space = 16 // what is not in a word
	upper = 32
)

// class is written out so that it costs nothing at start.
var class = [256]uint8{
	space, space, space, space, space, space, space, space, space, space, space, space, space, space, space, space, // 0x00
	space, space, space, space, space, space, space, space, space, space, space, space, space, space, space, space, // 0x10
	space, space, space, space, space, space, space, space, space, space, space, space, space, space, space, space, // 0x20
	digit, digit, digit, digit, digit, digit, digit, digit, digit, digit, space, space, space, space, space, space, // 0x30
	space, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, // 0x40
	upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, upper, space, space, space, space, under, // 0x50
	space, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, // 0x60
	lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, lower, space, space, space, space, space, // 0x70
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0x80
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0x90
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0xa0
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0xb0
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0xc0
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0xd0
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0xe0
	high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, high, // 0xf0
}
