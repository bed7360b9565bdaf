// The speed of skl beside that of git, cp and sha256sum. Nothing of this is in the product.
module github.com/skl-project/skl/testdata/bench

go 1.26
