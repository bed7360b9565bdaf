package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// A token's text is "skl_", 43 digits in base 62 for 256 random bits, and 6 for the
// CRC-32 of all before. Scanners for secrets find it by its prefix and
// know by the checksum that it is real, without asking anybody.
const (
	TokenPrefix = "skl_"
	tokenDigits = 43 // 62^43 > 2^256
	sumDigits   = 6  // 62^6 > 2^32
	TokenLength = len(TokenPrefix) + tokenDigits + sumDigits
	idLength    = 12 // hexadecimal digits of a token's hash, which name it
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// A Hash is what is stored of a token: SHA-256 of its text.
type Hash [sha256.Size]byte

// Equal compares in constant time.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// ID is the public name of the token: the first 12 hexadecimal digits of its hash. It
// finds the row, and may be shown in lists and logs; it does not help to guess the token.
func (h Hash) ID() string { return hex.EncodeToString(h[:])[:idLength] }

// NewToken makes a token. The text is shown once, to its owner; id and hash are stored.
func NewToken() (text, id string, hash Hash) {
	var secret [32]byte
	rand.Read(secret[:])
	text = tokenText(secret)
	hash = sha256.Sum256([]byte(text))
	return text, hash.ID(), hash
}

func tokenText(secret [32]byte) string {
	body := TokenPrefix + base62(new(big.Int).SetBytes(secret[:]), tokenDigits)
	return body + base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), sumDigits)
}

// ParseToken checks the form of a token. It accepts what NewToken can make, and nothing else; so a
// token that was mistyped or cut is known without a look into the database.
// Its error is a *diag.Error with the code invalid_token, and does not hold the text.
func ParseToken(text string) (id string, hash Hash, err error) {
	malformed := diag.New(diag.Refused, "invalid_token", "the token is mistyped or cut: a token is %q and %d letters and digits", TokenPrefix, tokenDigits+sumDigits)
	if len(text) != TokenLength || !strings.HasPrefix(text, TokenPrefix) {
		return "", Hash{}, malformed
	}
	n, ok := new(big.Int), true
	for i := len(TokenPrefix); i < len(TokenPrefix)+tokenDigits && ok; i++ {
		digit := strings.IndexByte(alphabet, text[i])
		ok = digit >= 0
		n.Add(n.Mul(n, big.NewInt(62)), big.NewInt(int64(digit)))
	}
	if !ok || n.BitLen() > 256 {
		return "", Hash{}, malformed
	}
	var secret [32]byte
	n.FillBytes(secret[:])
	if subtle.ConstantTimeCompare([]byte(tokenText(secret)), []byte(text)) != 1 {
		return "", Hash{}, malformed
	}
	hash = sha256.Sum256([]byte(text))
	return hash.ID(), hash, nil
}

// base62 writes n with the given number of digits.
func base62(n *big.Int, digits int) string {
	out := make([]byte, digits)
	base, rest := big.NewInt(62), new(big.Int)
	n = new(big.Int).Set(n)
	for i := digits - 1; i >= 0; i-- {
		n.DivMod(n, base, rest)
		out[i] = alphabet[rest.Int64()]
	}
	return string(out)
}
