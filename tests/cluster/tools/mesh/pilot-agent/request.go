package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// request sends a request to Envoy's admin port, or another allowed port. A 404 is not an error,
// as in the original: scripts depend on it.
func request(words []string, flags map[string]string) error {
	if len(words) < 2 || len(words) > 3 {
		return fmt.Errorf("accepts 2 or 3 arguments, received %d\n%s", len(words), usage)
	}
	port, err := number(flags, "debug-port", adminPort)
	if err != nil {
		return err
	}
	allowed := []int{adminPort, 15004, statusPort, readyPort}
	if !slices.Contains(allowed, port) {
		return fmt.Errorf("debug port %d is not one of %v", port, allowed)
	}
	// For tests of a request without a response; the timeout below would end it.
	if os.Getenv("TEST_HANG_REQUEST") == strconv.Itoa(port) {
		time.Sleep(time.Hour)
	}
	body := ""
	if len(words) == 3 {
		body = words[2]
	}
	url := fmt.Sprintf("http://localhost:%d/%s", port, strings.TrimPrefix(words[1], "/"))
	message, err := http.NewRequest(words[0], url, strings.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Timeout: 60 * time.Second}).Do(message)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode > 399 && answer.StatusCode != http.StatusNotFound {
		return fmt.Errorf("received unsuccessful status code %d: %s", answer.StatusCode, text)
	}
	fmt.Print(string(text))
	return nil
}

// wait returns when the proxy is ready. It is the hold's postStart hook.
func wait(flags map[string]string) error {
	timeout, err := number(flags, "timeoutSeconds", 60)
	if err != nil {
		return err
	}
	period, err := number(flags, "periodMillis", 500)
	if err != nil {
		return err
	}
	each, err := number(flags, "requestTimeoutMillis", 500)
	if err != nil {
		return err
	}
	url := flags["url"]
	if url == "" {
		url = fmt.Sprintf("http://localhost:%d/healthz/ready", readyPort)
	}
	client := &http.Client{Timeout: time.Duration(each) * time.Millisecond}
	for end := time.Now().Add(time.Duration(timeout) * time.Second); time.Now().Before(end); {
		if err = ready(client, url); err == nil {
			fmt.Println("Envoy is ready!")
			return nil
		}
		time.Sleep(time.Duration(period) * time.Millisecond)
	}
	return fmt.Errorf("timeout waiting for Envoy proxy to become ready. Last error: %v", err)
}

func ready(client *http.Client, url string) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status code %d", answer.StatusCode)
	}
	return nil
}
