package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// mergeKeys lists the lists of a container that Kubernetes merges item by item, with the
// field that identifies an item. Every other list is replaced.
var mergeKeys = map[string]string{"env": "name", "ports": "containerPort", "volumeMounts": "mountPath", "volumeDevices": "devicePath"}

// customize merges the rendered container over the pod's own one, and the user's
// customization, if any, over both. The customization is kept in an annotation for the
// next injection.
func customize(annotations object, field string, present, rendered object) (object, error) {
	var kept map[string][]object
	if value := text(annotations, overrides); value != "" {
		if err := json.Unmarshal([]byte(value), &kept); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", overrides, err)
		}
	}
	var status object
	statusText, injected := annotations[statusAnnotation].(string)
	if injected && json.Unmarshal([]byte(statusText), &status) != nil {
		status = nil
	}
	proxy := overlay(present, rendered)
	if slices.Contains(list(status, field), any(proxyName)) {
		return proxy, nil
	}
	own := present
	for _, container := range kept[field] {
		if text(container, "name") == proxyName {
			own = container
		}
	}
	if own == nil {
		return proxy, nil
	}
	own = maps.Clone(own)
	// The field is required: "auto" stands for the image of the template.
	if text(own, "image") == "auto" {
		delete(own, "image")
	}
	if !injected {
		encoded, err := json.Marshal(object{field: []object{own}})
		if err != nil {
			return nil, err
		}
		annotations[overrides] = string(encoded)
	}
	return overlay(proxy, own), nil
}

// take removes a container from a list and returns it.
func take(spec object, name, field string) object {
	items := list(spec, field)
	index := slices.IndexFunc(items, func(item any) bool { return text(item.(object), "name") == name })
	if index < 0 {
		return nil
	}
	proxy := items[index].(object)
	spec[field] = slices.Delete(slices.Clone(items), index, index+1)
	return proxy
}

// overlay returns base with patch merged into it, as a strategic merge patch does.
func overlay(base, patch object) object {
	result := object{}
	maps.Copy(result, base)
	for key, value := range patch {
		switch value := value.(type) {
		case object:
			result[key] = overlay(child(result, key), value)
		case []any:
			if mergeKey, merged := mergeKeys[key]; merged {
				result[key] = overlayItems(list(result, key), value, mergeKey)
			} else {
				result[key] = value
			}
		default:
			result[key] = value
		}
	}
	return result
}

// overlayItems merges the items of two lists by the field that identifies them.
func overlayItems(base, patch []any, mergeKey string) []any {
	result := slices.Clone(base)
	for _, item := range patch {
		item := item.(object)
		same := func(other any) bool { return fmt.Sprint(other.(object)[mergeKey]) == fmt.Sprint(item[mergeKey]) }
		if index := slices.IndexFunc(result, same); index >= 0 {
			result[index] = overlay(result[index].(object), item)
		} else {
			result = append(result, item)
		}
	}
	return result
}
