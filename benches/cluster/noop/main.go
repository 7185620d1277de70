// Command noop is a minimal webhook: its latency is the cost of any webhook, in any language.
//
// POST /noop admits. POST /patch admits with the fixed patch in PATCH. GET /calls/noop and /calls/patch return the
// number of calls.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID string `json:"uid"`
}

type response struct {
	UID       string `json:"uid"`
	Allowed   bool   `json:"allowed"`
	PatchType string `json:"patchType,omitempty"`
	Patch     []byte `json:"patch,omitempty"`
}

func admit(path, patch string) {
	var calls atomic.Int64
	http.HandleFunc("GET /calls"+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, calls.Load()) })
	http.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var received review
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &received) != nil || received.Request == nil {
			http.Error(w, "not a review", http.StatusBadRequest)
			return
		}
		calls.Add(1)
		answer := response{UID: received.Request.UID, Allowed: true}
		if patch != "" {
			answer.PatchType, answer.Patch = "JSONPatch", []byte(patch)
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(review{APIVersion: received.APIVersion, Kind: received.Kind, Response: &answer})
	})
}

func main() {
	admit("/noop", "")
	admit("/patch", os.Getenv("PATCH"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	// Like trainmesh, print the address in the first line.
	fmt.Fprintf(os.Stderr, "{\"listen\": %q}\n", listener.Addr())
	log.Fatal(http.ServeTLS(listener, nil, os.Args[1], os.Args[2]))
}
