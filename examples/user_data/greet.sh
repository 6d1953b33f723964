#!/bin/sh
printf '%s\n' "GREETING" > /etc/motd
