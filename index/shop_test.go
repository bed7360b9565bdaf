package index

// shop is a small repository in several languages, which the tests of this package ask about.
var shop = map[string]string{
	"README.md": `# Shop

A small shop with carts and orders.

## Getting started

Run the ` + "`shop`" + ` command.

## Configuration

### Timeouts of the gateway

The payment gateway is asked twice before it counts as down.
`,
	"go.mod": "module example.com/shop\n\ngo 1.26\n",
	"cart/cart.go": `// Package cart holds what a customer wants to buy.
package cart

import (
	"errors"
	"fmt"
)

// MaxItems is how many things fit into a cart.
const MaxItems = 99

// ErrFull is returned by a cart without room.
var ErrFull = errors.New("the cart is full: remove something first")

// A Cart belongs to one customer.
type Cart struct {
	items []Item
}

// An Item is one thing in a cart.
type Item struct {
	Name  string
	Price int // in cents
}

// Add puts an item into the cart.
func (c *Cart) Add(item Item) error {
	if len(c.items) == MaxItems {
		return ErrFull
	}
	c.items = append(c.items, item)
	return nil
}

// Total is the sum of all prices.
func (c *Cart) Total() int {
	sum := 0
	for _, i := range c.items {
		sum += i.Price
	}
	return sum
}

// computeTotalPrice adds the tax, and says so.
func computeTotalPrice(c *Cart, tax float64) string {
	return fmt.Sprintf("%d cents", int(float64(c.Total())*(1+tax)))
}
`,
	"cart/cart_test.go": `package cart

import "testing"

func TestTotal(t *testing.T) {
	c := &Cart{}
	c.Add(Item{"tea", 300})
	if c.Total() != 300 {
		t.Error("wrong total")
	}
}
`,
	"pay/gateway.py": `"""Talks to the payment gateway."""
import retry
from decimal import Decimal


class PaymentGateway:
    """Charges credit cards."""

    TIMEOUT = 30

    def charge(self, amount: Decimal) -> bool:
        # ask twice, then give up
        return retry.twice(lambda: self._post("/charge", amount))

    def refund(self, amount):
        return self._post("/refund", -amount)

    def _post(self, path, amount):
        raise NotImplementedError


def charge_card(gateway, amount):
    return gateway.charge(amount)
`,
	"web/app.ts": `import { Cart } from "./types";

export const renderCart = (cart: Cart): string => {
  return cart.items.map((i) => formatPrice(i.price)).join("\n");
};

export class CheckoutForm<T> extends HTMLElement {
  submit(): void {
    this.dispatchEvent(new Event("checkout"));
  }
}

function formatPrice(cents: number): string {
  return (cents / 100).toFixed(2) + " €";
}
`,
	"web/types.d.ts": "export interface Cart { items: { price: number }[] }\n",
	"tax/src/lib.rs": `//! Taxes of all countries.

pub enum Country { De, Fr }

/// A rate per country.
pub struct TaxTable { rates: Vec<f64> }

impl TaxTable {
    pub fn rate(&self, country: Country) -> f64 {
        self.rates[country as usize]
    }
}

macro_rules! percent { ($x:expr) => { $x as f64 / 100.0 } }
`,
	"config/shop.yaml": "gateway:\n  url: https://pay.example.com/v1\n  timeout: 30s\nfeatures: [carts, refunds]\n",
	"notes/plain.txt":  "Remember the milk.\n\nThe gateway's timeout isn't 30 s but 10 s on Mondays.\n",
	"notes/日本語.md":     "# 税金の計算\n\n消費税は10%です。\n",
	"vendor/x/cart.go": "package x\n\ntype Cart struct{}\n\nfunc (c Cart) Add(n int) {}\n",
	".github/ci.yml":   "on: push\n",
	".gitignore":       "/build/\n*.log\n",
	"build/out.go":     "package out\n\ntype Cart int\n",
	"debug.log":        "Cart Cart Cart\n",
	"logo.png":         "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR Cart",
	"empty.txt":        "",
	"web/crlf.js":      "export function first() {\r\n  return second();\r\n}\r\nexport function second() { return 2; }\r\n",
	"legacy/latin1.c":  "/* gr\xfc\xdfe */\nint price_of(int item) { return item; }\n",
}
