/* SPDX-License-Identifier: Apache-2.0 */
/* Everything a user of the C library includes. */
#ifndef CIPHERMOTE_CIPHERMOTE_H
#define CIPHERMOTE_CIPHERMOTE_H

#include "ciphermote/accelerator.h"
#include "ciphermote/aided.h"
#include "ciphermote/bfv.h"
#include "ciphermote/ckks.h"
#include "ciphermote/compact.h"
#include "ciphermote/compact_key.h"
#include "ciphermote/config.h"
#include "ciphermote/decryption.h"
#include "ciphermote/decryptor.h"
#include "ciphermote/device.h"
#include "ciphermote/emitter.h"
#include "ciphermote/encryptor.h"
#include "ciphermote/expander.h"
#include "ciphermote/frame.h"
#include "ciphermote/keygen.h"
#include "ciphermote/keys.h"
#include "ciphermote/params.h"
#include "ciphermote/receipt.h"
#include "ciphermote/receiver.h"
#include "ciphermote/seal.h"
#include "ciphermote/status.h"
#include "ciphermote/values.h"

#define CM_VERSION_MAJOR 0
#define CM_VERSION_MINOR 1
#define CM_VERSION_PATCH 0

#endif
