package alike

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
)

var shipped = &messaging.Event{ID: "ev_1", Name: "order shipped", Parameters: []messaging.EventParameter{
	{Name: "order", Type: messaging.ParameterText, Required: true},
	{Name: "parcels", Type: messaging.ParameterNumeric, Required: true},
	{Name: "at", Type: messaging.ParameterTimestamp, Required: true},
	{Name: "note", Type: messaging.ParameterText},
}}

func values(order, parcels, at any) map[string]any {
	return map[string]any{"order": order, "parcels": parcels, "at": at, "note": "n"}
}

var ada = messaging.CustomerParams{Email: "ada@example.com"}

func TestTriggersAreAlikeHoweverTheirValuesAreWritten(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	want := ShapeOf(shipped).Tokens("", ada, values("A-1001", json.Number("2"), noon))
	assert.NotZero(t, want[0])
	assert.Zero(t, want[1])
	for name, each := range map[string]map[string]any{
		"case":          values("a-1001", json.Number("2"), noon),
		"space":         values(" A 1001 ", json.Number("2"), noon),
		"leading zeros": values("A-0001001", json.Number("2"), noon),
		"wide letters":  values("Ａ-1001", json.Number("2"), noon),
		"number":        values("A-1001", json.Number("2.0"), noon),
		"Go number":     values("A-1001", 2, noon),
		"text of time":  values("A-1001", json.Number("2"), "2026-01-02T13:00:00+01:00"),
		"fraction":      values("A-1001", json.Number("2"), "2026-01-02T12:00:00.25Z"),
	} {
		assert.Equal(t, want, ShapeOf(shipped).Tokens("", ada, each), name)
	}
	for text, same := range map[string]string{"0": "-0", "100000": "1E5", "12345678901234567890": "1.2345678901234567890E19",
		"1e400": "10e399", "0.0000001": "1e-7", "5": "5.0"} {
		assert.Equal(t, ShapeOf(shipped).Tokens("", ada, values("A", json.Number(text), noon)),
			ShapeOf(shipped).Tokens("", ada, values("A", json.Number(same), noon)), text)
	}
	for text, other := range map[string]string{"12345678901234567890": "12345678901234567891", "1e999999999": "1e999999998", "5": "-5"} {
		assert.NotEqual(t, ShapeOf(shipped).Tokens("", ada, values("A", json.Number(text), noon)),
			ShapeOf(shipped).Tokens("", ada, values("A", json.Number(other), noon)), text)
	}
	withoutNote := values("A-1001", json.Number("2"), noon)
	delete(withoutNote, "note")
	assert.Equal(t, want, ShapeOf(shipped).Tokens("", ada, withoutNote), "a value that is not required")
	for name, each := range map[string]map[string]any{
		"order":   values("A-1002", json.Number("2"), noon),
		"parcels": values("A-1001", json.Number("3"), noon),
		"at":      values("A-1001", json.Number("2"), noon.Add(time.Second)),
		"digits":  values("A-100-1", json.Number("2"), noon),
		"missing": {"order": "A-1001", "parcels": json.Number("2")},
	} {
		assert.NotEqual(t, want, ShapeOf(shipped).Tokens("", ada, each), name)
	}
}

func TestAWholeNumberIsTheSameAsASpreadsheetWritesIt(t *testing.T) {
	of := func(order, id string) Tokens {
		shape := Shape{{Name: "order", Type: messaging.ParameterText}}
		return shape.Tokens("", messaging.CustomerParams{CustomerID: id}, map[string]any{"order": order})
	}
	for _, order := range []string{"71001.0", "71001.00", "71001,0", "71,001", "71.001,00", "71'001", "71 001", "7.1001E+04", "7,1001e4",
		`="71001"`, "'71001", " 71001 ", "71001.000", "71,0010", "71\u2009001", "71\u3000001", "071001.00"} {
		assert.True(t, of("71001", "7").Meet(of(order, "7")), order)
	}
	assert.Equal(t, of("71001", "7"), of("71001", "7.0"))
	assert.False(t, of("71001", "1.1").Meet(of("71001", "1.10")))
	for _, order := range []string{"71001.5", "71,00100.1", "7.1001E+05", "710010", "71001-0", "E4", "1E999"} {
		assert.False(t, of("71001", "7").Meet(of(order, "7")), order)
	}
}

func TestValuesAreAlikeWhateverSeparatesTheirDigits(t *testing.T) {
	meet := func(a, b string) bool {
		shape := Shape{{Name: "order", Type: messaging.ParameterText}, {Name: "carrier", Type: messaging.ParameterText}}
		of := func(order string) Tokens {
			return shape.Tokens("", ada, map[string]any{"order": order, "carrier": "1-2"})
		}
		return of(a).Meet(of(b))
	}
	for _, each := range [][2]string{
		{"INV-2026-0001", "INV20260001"}, {"INV-2026-0001", "INV-2026-1"}, {"2026-71", "2026-071"}, {"2026 71", "202671"},
		{"1234 5678", "12345678"}, {"+49 (30) 12-34", "+49301234"}, {"R-12-34", "R1234"}, {"71-001", "71001"}, {"71_001", "71001"},
		{"1,00,000", "100000"}, {"12.50", "12.5"}, {"1.10", "1.1"}, {"0.5", ".5"}, {"0.50", ".5"}, {"10.20", "1020"},
		{"0", "0.0"}, {"0", "0.00"}, {"2.50 kg", "2.5 kg"}, {"1.5 kg", "1,5 kg"},
		{"710,01", "71001"}, {"R-71001", "R-71001.0"}, {"71001", "71001.000"}, {"71.0010", "71.001"}, {"2.0", "2"},
		{"v2.0", "v2"}, {"71", "71.000"},
		{"71000", "71.000"}, {"05.01.2026", "5/1/2026"}, {"2026-11-20", "20261120"}, {"2026-11-20", "2026-11-20 00:00:00"},
		{"2026-11-20", "2026-11-20T00:00:00.000Z"}, {"71\u00ad001", "71001"}, {"71\u200b001", "71001"}, {"71\u2011001", "71001"},
		{"71\u00b7001", "71001"}, {"71\u066c001", "71001"}, {"R 71\u2009001", "r71001"}, {"１２．５０", "12.5"}, {"٧١", "71"},
	} {
		assert.True(t, meet(each[0], each[1]) && meet(each[1], each[0]), "%q", each)
	}
	for _, each := range [][2]string{
		{"A-1001", "A-1002"}, {"100", "10"}, {"71001", "71010"}, {"2026-11-20", "2026-11-21"},
		{"2026-11-20 00:00:00", "2026-11-20 00:00:01"}, {"1.5", "1.25"}, {"a1", "b1"}} {
		assert.False(t, meet(each[0], each[1]), "%q", each)
	}
	assert.False(t, Shape{}.Tokens("", messaging.CustomerParams{CustomerID: "1-23"}, nil).Meet(
		Shape{}.Tokens("", messaging.CustomerParams{CustomerID: "12-3"}, nil)), "the id of another customer")
}

func TestATriggerWithTwoFormsOfItsValuesCountsOnce(t *testing.T) {
	shape := Shape{{Name: "order", Type: messaging.ParameterText}}
	of := func(order string) Tokens { return shape.Tokens("", ada, map[string]any{"order": order}) }
	var set, others Set
	for _, order := range []string{"INV-2026-0001", "INV-2026-0002", "INV-2026-0003"} {
		set.Add(of(order))
	}
	for _, order := range []string{"INV20260001", "INV-2026-2", "INV-2026-9"} {
		others.Add(of(order))
	}
	set.Sort()
	others.Sort()
	assert.Zero(t, set.Twice)
	assert.True(t, set.Has(of("INV20260003")))
	assert.Equal(t, 3, common(set, set.Tokens))
	assert.Positive(t, common(set, others.Tokens))
	assert.Positive(t, common(others, set.Tokens))

	set.Add(of("INV20260003"))
	set.Sort()
	assert.Equal(t, 1, set.Twice)
}

// common returns how many triggers of a set are like others.
func common(set Set, others []Token) int {
	n, _ := set.Common(slices.Values(others))
	return n
}

func TestTriggersWithTheSameValuesMayMeetIfOneHasAnIDAloneAndTheOtherAnAddress(t *testing.T) {
	shape := Shape{{Name: "order", Type: messaging.ParameterText}}
	of := func(email, id, order string) Tokens {
		return shape.Tokens("", messaging.CustomerParams{Email: email, CustomerID: id}, map[string]any{"order": order})
	}
	for _, each := range []struct {
		one, other Tokens
		may        bool
	}{
		{of("ada@example.com", "", "A-1"), of("", "7", "a 1"), true},
		{of("ada@example.com", "", "A-1"), of("", "7", "A-2"), false},
		{of("ada@example.com", "", "A-1"), of("bob@example.com", "", "A-1"), false},
		{of("", "7", "A-1"), of("", "8", "A-1"), false},
		{of("ada@example.com", "7", "A-1"), of("", "8", "A-1"), false},
		{of("ada@example.com", "", "INV-2026-0001"), of("", "7", "INV20260001"), true},
		{shape.Tokens("ada@example.com", messaging.CustomerParams{CustomerID: "8"}, map[string]any{"order": "A-1"}), of("", "7", "A-1"), false},
	} {
		for _, pair := range [][2]Tokens{{each.one, each.other}, {each.other, each.one}} {
			var one, other Set
			one.Add(pair[0])
			other.Add(pair[1])
			one.Sort()
			other.Sort()
			alike, unclear := one.Common(slices.Values(other.Tokens))
			assert.Zero(t, alike)
			assert.Equal(t, each.may, unclear == 1)
			assert.Equal(t, each.may, pair[0].MayMeet(pair[1]))
			assert.Equal(t, each.may, one.MayHave(pair[1]))
			assert.False(t, pair[0].Meet(pair[1]))
			assert.False(t, one.Has(pair[1]))
			one.Add(pair[1])
			one.Sort()
			assert.Zero(t, one.Twice)
			assert.Equal(t, each.may, one.Unclear() != 0)
		}
	}
}

func TestTriggersAreAlikeForACustomerHoweverTheAddressIsWritten(t *testing.T) {
	want := ShapeOf(shipped).Tokens("", ada, nil)
	for _, address := range []string{"Ada@Example.com", " ada@example.com", "ada@example.com.", "'ada@example.com", "<ada@example.com>",
		"mailto:ada@example.com", "<mailto:ada@example.com>;"} {
		assert.Equal(t, want, ShapeOf(shipped).Tokens("", messaging.CustomerParams{Email: address}, nil), address)
		assert.Equal(t, address == "Ada@Example.com", IsAddressAlone(address), address)
	}
	assert.NotEqual(t, want, ShapeOf(shipped).Tokens("", messaging.CustomerParams{Email: "ada.x@example.com"}, nil))
	assert.Equal(t, Address("ada@xn--bcher-kva.example"), Address("Ada@Bücher.example"))
	assert.True(t, IsAddressAlone("Ada@Bücher.example"))
}

func TestTokensStandForTheAddressAndTheIDOfACustomer(t *testing.T) {
	both := ShapeOf(shipped).Tokens("", messaging.CustomerParams{Email: "ada@example.com", CustomerID: "7"}, nil)
	assert.Equal(t, ShapeOf(shipped).Tokens("", ada, nil)[0], both[0])
	assert.Equal(t, ShapeOf(shipped).Tokens("", messaging.CustomerParams{CustomerID: "7"}, nil)[1], both[1])
	assert.NotZero(t, both[1])
}

func TestAllValuesCountIfTheEventRequiresNone(t *testing.T) {
	seen := &messaging.Event{Parameters: []messaging.EventParameter{{Name: "page", Type: messaging.ParameterText}}}
	assert.NotEqual(t, ShapeOf(seen).Tokens("", ada, map[string]any{"page": "a"}), ShapeOf(seen).Tokens("", ada, map[string]any{"page": "b"}))
	assert.Equal(t, ShapeOf(seen).Tokens("", ada, map[string]any{"page": "a"}), ShapeOf(seen).Tokens("", ada, map[string]any{"page": "A"}))
	for _, blank := range []any{nil, "", "  ", "\u200b", "\u3164", "\u2800 "} {
		assert.Equal(t, ShapeOf(seen).Tokens("", ada, nil), ShapeOf(seen).Tokens("", ada, map[string]any{"page": blank}))
	}
}

func TestFoldKeepsWhatTellsTextsApart(t *testing.T) {
	for text, want := range map[string]string{
		"A-1001": "a1001", "1-23": "1-23", "12-3": "12-3", "1 - 23": "1-23", "007": "7", "0": "0", "A-000": "a0", "100": "100",
		"10-05": "10-5", "!!": "!!", "": "", "José": "josé", "STRASSE": "strasse", "Straße": "strasse",
		"R-٠٠٧": "r7", "१२-३": "12-3",
	} {
		assert.Equal(t, want, Fold(text), text)
	}
}

func TestASetCountsTheTriggersThatAreAlike(t *testing.T) {
	var s Set
	both := Tokens{4, byID | 4}
	s.Add(both)
	s.Add(both)
	s.Add(Tokens{8, 0})
	s.Add(Tokens{12, 0})
	s.Sort()
	assert.Equal(t, 1, s.Twice, "two tokens of one trigger count once")
	assert.Equal(t, []Token{4, 8, 12, byID | 4}, s.Tokens)
	assert.True(t, s.Has(Tokens{0, byID | 5}))
	assert.False(t, s.Has(Tokens{}))
	assert.Equal(t, 2, common(s, []Token{1, 5, 9, 16, byID | 6, byID | 8}))
	assert.Equal(t, 0, common(s, []Token{byID | 9}))
}

func TestASetCountsWhatIsCommonWithAMuchSmallerOrLargerOne(t *testing.T) {
	var large, small Set
	for i := range Token(10_000) {
		large.Add(Tokens{(i + 1) << formBits})
	}
	for _, i := range []Token{5, 900, 9_000, 20_000} {
		small.Add(Tokens{i << formBits})
	}
	large.Sort()
	small.Sort()
	assert.Equal(t, 3, common(large, small.Tokens))
	assert.Equal(t, 3, common(small, large.Tokens))
}

func TestShapeDoesNotDependOnTheOrderOfParametersOrOnTheCustomer(t *testing.T) {
	parameter := func(name string) messaging.EventParameter {
		return messaging.EventParameter{Name: name, Type: messaging.ParameterText, Required: true}
	}
	one := ShapeOf(&messaging.Event{Parameters: []messaging.EventParameter{parameter("order"), parameter("carrier"), parameter("email")}})
	other := ShapeOf(&messaging.Event{Parameters: []messaging.EventParameter{parameter("customer"), parameter("carrier"), parameter("order")}})
	assert.Equal(t, one, other)
	assert.Len(t, one, 2)
}

func TestATriggerIsLikeOthersForEachOfItsAddresses(t *testing.T) {
	var none Shape
	both := none.Tokens("ada@example.com", messaging.CustomerParams{Email: "bob@example.com"}, nil)
	assert.True(t, both.Meet(none.Tokens("Ada@example.com", messaging.CustomerParams{}, nil)))
	assert.True(t, both.Meet(none.Tokens("", messaging.CustomerParams{Email: "ada@example.com"}, nil)))
	assert.True(t, both.Meet(none.Tokens("bob@example.com", messaging.CustomerParams{}, nil)))
	assert.False(t, both.Meet(none.Tokens("eve@example.com", messaging.CustomerParams{}, nil)))
	assert.False(t, both.Meet(Tokens{}))

	var s Set
	s.Add(none.Tokens("ada@example.com", messaging.CustomerParams{Email: "Ada@example.com"}, nil))
	s.Sort()
	assert.Zero(t, s.Twice, "it is the same address")
}

func TestTimesInATextMakeNoDifferenceToUntimedValues(t *testing.T) {
	shape := Shape{{Name: "text", Type: messaging.ParameterText}, {Name: "at", Type: messaging.ParameterTimestamp}}.Untimed()
	of := func(text string) Tokens { return shape.Tokens("", ada, map[string]any{"text": text, "at": time.Now()}) }
	for text, other := range map[string]string{
		"run at 2026-11-26T10:00:00Z":       "run at 2026-11-26T10:01:00Z",
		"2026-11-26 10:00:00.5+01:00 A-1":   "2026-11-27 A-1",
		"as of 9:05":                        "as of 12:31:07",
		"1764151200":                        "1764151260",
		"batch 1764151200123 for customers": "batch 1764151299999 for customers",
	} {
		assert.Equal(t, of(text), of(other), text)
	}
	assert.NotEqual(t, of("A-1001 9:05"), of("A-1002 9:05"))
}
