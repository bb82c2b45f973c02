// Package mqtt tests `livegraph mqtt` with the MQTT broker Mosquitto (Debian: mosquitto).
package mqtt
