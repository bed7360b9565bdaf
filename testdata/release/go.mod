// Programs that make what a release holds beside the archives: npm packages, a container image, bills of materials. Nothing of
// this is in the product.
module github.com/skl-project/skl/testdata/release

go 1.26.0

require golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d
