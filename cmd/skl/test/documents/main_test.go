package documents

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m, nil) }
