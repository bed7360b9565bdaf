package long

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Seed is where the choices of a test begin: n, so that every run of go test makes the same, or something else each time where suites are run
// whole. SKL_TEST_SEED=N takes N. It is written to the log of the test, which a failure shows.
func Seed(t testing.TB, n uint64) uint64 {
	t.Helper()
	if text := os.Getenv("SKL_TEST_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SKL_TEST_SEED: %v", err)
		}
		n = given
	} else if All() {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("SKL_TEST_SEED=%d makes these choices again", n)
	return n
}

// Rand makes choices from [Seed]. Unlike another it serves several goroutines at once; what each of them gets is then a matter of their order.
func Rand(t testing.TB, n uint64) *rand.Rand {
	t.Helper()
	seed := Seed(t, n)
	return rand.New(&shared{pcg: rand.NewPCG(seed, seed)})
}

type shared struct {
	mu  sync.Mutex
	pcg *rand.PCG
}

func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pcg.Uint64()
}
