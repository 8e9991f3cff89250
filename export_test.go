package messaging

import (
	"reflect"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/service"
)

// BodyPaths returns the paths of all members that the body of a send can have, such as
// recipients.customers.email. What is within a map has no fixed name.
func BodyPaths(op *service.Operation) []string {
	return slices.Sorted(slices.Values(memberPaths("", bodies[op])))
}

// bodies holds the wire form of the params of each send.
var bodies = map[*service.Operation]reflect.Type{
	service.SendEmailBroadcast: reflect.TypeFor[emailBroadcastBody](),
	service.SendPushBroadcast:  reflect.TypeFor[pushBroadcastBody](),
	service.CreateEvent:        reflect.TypeFor[eventCreateBody](),
	service.TriggerEvent:       reflect.TypeFor[eventTriggerBody](),
}

func memberPaths(path string, t reflect.Type) (paths []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for name, member := range membersOf(t) {
		paths = append(paths, path+name)
		paths = append(paths, memberPaths(path+name+".", member)...)
	}
	return paths
}

// membersOf returns the members that encoding/json writes of a struct, those of embedded
// structs included, and the recipients of a broadcast.
func membersOf(t reflect.Type) map[string]reflect.Type {
	members := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			members[name] = field.Type
		}
	}
	if _, isBroadcast := t.FieldByName("to"); isBroadcast {
		members["recipients"] = reflect.TypeFor[recipient]()
	}
	return members
}
