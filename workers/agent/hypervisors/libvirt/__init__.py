"""``libvirt``: domains of whatever hypervisor libvirt manages."""
