package hostile_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

var sendCount = flag.Int("sends", 10_000, "the number of sends that TestAllowOnlyLetsNoStrangerThrough generates")

const (
	allowedDomain  = "acme.test"
	allowedAddress = "a&b+ADMIN@example.org"
	allowedID      = "qa-7"
)

// Whatever a mail server decodes in a send that WithAllowOnly lets through, it finds no address
// that is not listed. The sends are the same in each run.
func TestAllowOnlyLetsNoStrangerThrough(t *testing.T) {
	guard := scripted.GuardOf(t, messaging.WithAllowOnly("@"+allowedDomain, allowedAddress, "id:"+allowedID))
	g := &sendGenerator{Rand: rand.New(rand.NewPCG(7, 7))}
	passed, checked := 0, make(map[string]bool)
	for range *sendCount {
		operation, body := g.send()
		p, err := messaging.ParsePrepared(operation, []byte(body))
		require.NoError(t, err, body)
		if guard(t.Context(), p) != nil {
			continue
		}
		passed++
		for text := range addressingStrings(t, body) {
			if checked[text] {
				continue
			}
			checked[text] = true
			for _, address := range addressesIn(text) {
				require.True(t, isAllowed(address), "%q, which is found in %q, in the %s %s", address, text, operation, body)
			}
		}
	}
	t.Logf("%d sends, of which %d passed, with %d different texts", *sendCount, passed, len(checked))
	require.Greater(t, passed, *sendCount/5, "too few sends pass for the test to mean anything")
}

// sendGenerator makes sends that programs may have stored. Most of their addresses are
// allowed.
type sendGenerator struct {
	*rand.Rand
}

func (g *sendGenerator) send() (operation, body string) {
	switch g.IntN(4) {
	case 0:
		return "trigger event", `{"event_id":"e","payload":` + g.object(g.payload) + `}`
	case 1:
		return "send push broadcast", `{"subject":"s","message":"m","schedule_type":"send-now",` + g.member("recipients", g.recipients) + `}`
	default:
		return "send email broadcast", g.object(g.emailBroadcast)
	}
}

// object writes an object of the members, of which one is sometimes repeated.
func (g *sendGenerator) object(members func() []string) string {
	all := members()
	if g.IntN(10) == 0 {
		again := members()
		all = append(all, again[g.IntN(len(again))])
	}
	return "{" + strings.Join(all, ",") + "}"
}

// member writes a member, whose name is rarely spelled in another way.
func (g *sendGenerator) member(name string, value func() string) string {
	if g.IntN(100) == 0 {
		name = pick(g, strings.ToUpper(name), strings.ToUpper(name[:1])+name[1:], name+" ", "\u00a0"+name, name+"\u200b",
			strings.ReplaceAll(name, "s", "ſ"), strings.ReplaceAll(name, "i", "ı"))
	}
	key := quoted(name)
	if g.IntN(20) == 0 && name[0] < utf8.RuneSelf {
		key = fmt.Sprintf(`"\u%04x%s`, name[0], key[2:])
	}
	return key + ":" + value()
}

func (g *sendGenerator) payload() []string {
	members := []string{`"order":{"email":"value@example.com"}`}
	if g.IntN(3) > 0 {
		members = append(members, g.member("email", g.addressValue))
	}
	if g.IntN(3) > 0 {
		members = append(members, g.member("customer", func() string { return g.object(g.customer) }))
	}
	return members
}

func (g *sendGenerator) emailBroadcast() []string {
	members := []string{`"sender_email":"sender@example.com"`, `"sender_name":"Sender"`, `"reply_to":["reply@example.com"]`,
		`"subject":"for you@example.com"`, `"message":"write to us@example.com"`, `"variables":{"x":"x@example.com"}`,
		`"template_id":"t"`, `"message_type":"m"`, `"schedule_type":"send-now"`,
		g.member("email", g.addressValue), g.member("recipients", g.recipients)}
	for _, copies := range []string{"cc", "bcc"} {
		if g.IntN(3) == 0 {
			members = append(members, g.member(copies, func() string { return g.list(2, g.addressValue) }))
		}
	}
	return members
}

func (g *sendGenerator) recipients() string {
	customers := func() []string {
		return []string{`"type":"customer"`, g.member("customers", func() string {
			return g.list(2, func() string { return g.object(g.customer) })
		})}
	}
	if g.IntN(2) == 0 {
		return "[" + g.object(customers) + "]"
	}
	return g.object(customers)
}

func (g *sendGenerator) customer() []string {
	var members []string
	if g.IntN(4) == 0 {
		members = append(members, g.member("customer_id", func() string {
			return pick(g, quoted(allowedID), quoted(allowedID), quoted(allowedID), g.addressValue(), "7")
		}))
	}
	if members == nil || g.IntN(2) == 0 {
		members = append(members, g.member("email", g.addressValue))
	}
	if g.IntN(4) == 0 {
		members = append(members, g.member(pick(g, "first_name", "last_name"), g.nameValue))
	}
	return members
}

func (g *sendGenerator) list(most int, element func() string) string {
	var elements []string
	for range 1 + g.IntN(most) {
		elements = append(elements, element())
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (g *sendGenerator) addressValue() string {
	if g.IntN(200) == 0 {
		return pick(g, "null", `""`, "7", `["victim@evil.com"]`, `{"email":"victim@evil.com"}`, `"victim\ud800@acme.test"`)
	}
	return quoted(g.address())
}

func (g *sendGenerator) nameValue() string {
	if g.IntN(4) > 0 {
		return quoted(pick(g, "Ada", "Ada + Grace", "O'Brien-Smith", "Zoë", "qa@acme.test", "Kate, Jr."))
	}
	return quoted(g.address())
}

func (g *sendGenerator) address() string {
	switch n := g.IntN(100); {
	case n < 70:
		return pick(g, "qa", "q.a_b-c+d'e", "QA", "qa+order-4711", "o'brien+x-1", "x") + "@" + pick(g, allowedDomain, "Acme.Test")
	case n < 75:
		return pick(g, allowedAddress, strings.ToUpper(allowedAddress), strings.ToLower(allowedAddress))
	case n < 90:
		return g.damaged(g.disguised())
	default:
		return g.disguised()
	}
}

// disguised returns a text in which somebody may find the address of a stranger.
func (g *sendGenerator) disguised() string {
	const at = "@" + allowedDomain
	text := pick(g, "victim@evil.com,", "victim@evil.com", "victim@evil.com;x", "<victim@evil.com>", "victim@evil.com\r\nx")
	encoded := pick(g, mime.QEncoding, mime.BEncoding).Encode(pick(g, "utf-8", "iso-8859-1"), text+"é")
	return pick(g,
		"=?utf-8?q?victim=40evil.com=2c?="+at,
		"=?utf-8?q?=3D=3Futf-8=3Fq=3Fvictim=3D40evil.com=3D2c=3F=3D?="+at,
		"=?x-unknown?q?victim=40evil.com=2c?="+at,
		encoded+at, strings.ReplaceAll(encoded, "_", "=20")+at,
		text+"qa"+at, text+at, "qa"+at+","+text, "qa"+at+" "+text,
		`"victim@evil.com,"`+at, `"`+text+`" <qa`+at+">", text+" <qa"+at+">", "qa (victim@evil.com)"+at, "qa(<victim@evil.com>)"+at,
		"list:victim@evil.com,qa"+at+";", "@evil.com:qa"+at, "victim%evil.com"+at, "evil.com!victim"+at,
		"victim＠evil.com，qa"+at, "victim﹫evil.com"+at, "victim@evil.com\u2028qa"+at, "victim@evil.com\x00"+at, "victim@evil.com\u200bqa"+at,
		"qa"+at+".evil.com", "qa@evil."+allowedDomain, "qa@еvil.com", "qa@acme.teſt", "qa"+at+".", "qa"+at+"%00@evil.com",
		"victim@evil.com#"+at, "victim@evil.com?x="+at, "-oQ/tmp"+at, "victim|evil"+at, "victim@[127.0.0.1]", "victim")
}

// damaged changes a character of a text.
func (g *sendGenerator) damaged(text string) string {
	runes := []rune(text)
	i := g.IntN(len(runes))
	other := []rune(pick(g, "@", "+", ",", "=", "?", "<", " ", "A", "a", "", ".", "-", "'", "_", "é"))
	return string(slices.Concat(runes[:i], other, runes[i+g.IntN(2):]))
}

func pick[T any](g *sendGenerator, choices ...T) T { return choices[g.IntN(len(choices))] }

func quoted(text string) string {
	written, _ := json.Marshal(text)
	return string(written)
}

// addressingStrings returns the strings in a body that are neither about the sender nor of
// a form that is up to the caller. It finds each of several members of one name.
func addressingStrings(t *testing.T, body string) map[string]bool {
	found := make(map[string]bool)
	decoder := json.NewDecoder(strings.NewReader(body))
	var value func(path string)
	value = func(path string) {
		token, err := decoder.Token()
		require.NoError(t, err, body)
		switch token := token.(type) {
		case json.Delim:
			for i := 0; decoder.More(); i++ {
				step := ""
				if token == '{' {
					key, err := decoder.Token()
					require.NoError(t, err, body)
					step = "." + strings.ToLower(key.(string))
				}
				value(path + step)
			}
			_, err = decoder.Token()
			require.NoError(t, err, body)
		case string:
			if !isFree(path) {
				found[token] = true
			}
		}
	}
	value("")
	return found
}

// isFree reports whether a path leads to the sender, to content, or into a value of any
// form.
func isFree(path string) bool {
	if strings.HasSuffix(path, ".first_name") || strings.HasSuffix(path, ".last_name") || strings.HasSuffix(path, ".device_type") {
		return true
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "."), ".")
	switch first {
	case "sender_email", "sender_name", "reply_to", "subject", "message", "variables":
		return true
	case "payload":
		second, _, _ := strings.Cut(rest, ".")
		return second != "email" && second != "customer"
	}
	return false
}

// isAllowed reports whether an address matches a pattern. It is simpler than AllowOnly,
// since it sees addresses that are decoded.
func isAllowed(address string) bool {
	_, domain, _ := strings.Cut(address, "@")
	return strings.EqualFold(domain, allowedDomain) || strings.EqualFold(address, allowedAddress)
}

var (
	words = &mime.WordDecoder{CharsetReader: func(_ string, input io.Reader) (io.Reader, error) { return input, nil }}
	// lookalikes are what a normalization turns into separators.
	lookalikes = strings.NewReplacer("＠", "@", "﹫", "@", "，", ",", "；", ";")
	// anAddress is what a lenient parser may take for an address.
	anAddress = regexp.MustCompile(`[^\s<>,;:()"\\\x00]*@[^\s<>,;:()"\\\x00]*`)
)

// addressesIn returns the addresses that parsers find in a text, after decoders have been
// applied to it, each twice.
func addressesIn(text string) (found []string) {
	forms := []string{text, strings.ToLower(text)}
	for from, round := 0, 0; round < 2; round++ {
		to := len(forms)
		for _, form := range forms[from:to] {
			forms = append(forms, decode(form)...)
		}
		from = to
	}
	slices.Sort(forms)
	for _, form := range slices.Compact(forms) {
		form = lookalikes.Replace(form)
		if address, err := mail.ParseAddress(form); err == nil {
			found = append(found, address.Address)
		}
		if list, err := mail.ParseAddressList(form); err == nil {
			for _, address := range list {
				found = append(found, address.Address)
			}
		}
		found = append(found, anAddress.FindAllString(form, -1)...)
	}
	return found
}

// decode returns what decoders make of a text, once.
func decode(text string) (decoded []string) {
	if text == allowedAddress || text == strings.ToLower(allowedAddress) {
		return nil
	}
	if header, err := words.DecodeHeader(text); err == nil && header != text {
		decoded = append(decoded, header)
	}
	return decoded
}
